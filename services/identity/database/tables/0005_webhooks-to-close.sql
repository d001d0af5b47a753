-- Whether the webhook service knows that an agent was revoked (spec 5.11). It is told about agents revoked earlier, too.

alter table identity.agents add column webhook_closed boolean not null default false;
create index agents_webhook_open on identity.agents (agent_id) where revoked and not webhook_closed; -- listOpenWebhooks

grant update (webhook_closed) on identity.agents to identity;
