-- The challenges that registrations have consumed (spec 5.4, 5.6). Issuing a challenge writes nothing. So this table
-- holds only solved challenges, until they expire.
create table identity.consumed_challenges (
  id uuid primary key, -- insertAgent, findStanding
  expires_at bigint not null -- Unix seconds
);
create index consumed_challenges_expiry on identity.consumed_challenges (expires_at); -- purgeChallenges

revoke all on identity.consumed_challenges from identity;
-- The purge locks rows, for which a role needs the right to update.
grant select, insert, update, delete on identity.consumed_challenges to identity;
