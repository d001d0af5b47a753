-- A lease belongs to a process, and lasts as long as the row of its process. So a process renews one row, however many
-- streams it holds, and the leases of a killed process go with its row. Processes of the release before leave `process`
-- null and renew `expires_at` of each lease. They take no lease of this release, because it never expires by itself.

alter table stream.leases
  add column process text collate "C" references stream.processes (id) on delete cascade;
create index leases_of_process on stream.leases (process); -- removal of a process
