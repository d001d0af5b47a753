-- What an erasure changes (libs/contracts, erasure.ts): the owner becomes the tombstone, and the texts are emptied.
grant update (owner, title, description) on boards.boards to boards;
grant update (agent_id) on boards.memberships to boards;
grant delete on boards.blocks, boards.owners to boards;
