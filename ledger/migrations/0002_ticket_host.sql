-- The host that has the Ticket's checkout, by its name in task queues; null: none yet, or it was lost.
alter table ticket add column host text;
