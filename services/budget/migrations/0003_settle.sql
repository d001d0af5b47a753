create function budget.settle(operations text[]) returns bigint
language plpgsql as $$
declare
  settled bigint;
begin
  with settled as (
    update budget.reservations r set state = 'settled'
    from unnest(operations) with ordinality as u (operation, ord)
    where r.operation = u.operation and r.state = 'held'
    returning r.agent_id, r.introduction_peer, r.introduces
  ), introduced as (
    update budget.introductions p set settled = true from settled s
    where s.introduces and p.agent_id = s.agent_id and p.peer = s.introduction_peer and not p.settled
  )
  select count(*) into settled from settled;
  return settled;
end
$$;
grant execute on function budget.settle to budget;
