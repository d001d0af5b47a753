-- Finds the held reservations that a refusal of the agent may depend on, because they may still be released
-- (store/reconsider.ts).
create index reservations_held_by_agent on budget.reservations (agent_id) where state = 'held'; -- reconsider
create index introductions_open on budget.introductions (agent_id) where not settled; -- reconsider
