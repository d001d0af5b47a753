-- A lease belongs to a process, and lasts as long as the row of its process. So a process renews one row, however many
-- streams it holds, and the leases of a killed process go with its row. Processes of the previous release leave
-- `process` null and renew `expires_at` of each lease. They take over no lease of this release, because such a lease
-- has no expiry of its own.

alter table stream.leases
  add column process text collate "C" references stream.processes (id) on delete cascade;
create index leases_of_process on stream.leases (process); -- removal of a process
