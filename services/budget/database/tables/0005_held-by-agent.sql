-- What an agent's refusal may still depend on: what is held may be given back (store/reconsider.ts).
create index reservations_held_by_agent on budget.reservations (agent_id) where state = 'held'; -- reconsider
create index introductions_open on budget.introductions (agent_id) where not settled; -- reconsider
