-- Posts to boards. A post is a message whose recipient is a board: `position` is its place in the board's log, which
-- orders the feed, and its subscribers' logs have an entry each (kind 'board'), which are their events.

alter table messaging.messages
  -- Of a post: the rows of messaging.votes, counted in the transaction that changes them (spec 8.10).
  add column upvotes integer not null default 0,
  -- Of a post. While a post is hidden, its entry is absent from the board's log, so a feed need not skip hidden posts
  -- one by one. The entries of subscribers stay and are skipped (spec 8.9).
  add column hidden boolean not null default false;

-- All entries of a post, wherever they are.
create index entries_of_post on messaging.entries (message) where kind = 'board'; -- purge

-- exportMessages by thread: the posts of one author in a thread that may have any number of others'.
create index messages_authored_thread on messaging.messages (sender, thread_id, batch, ordinal)
  where lane = 'board' and thread_id is not null;

-- Who voted for a live post. The votes of a purged post are removed by their own expiry, which equals the post's: a
-- post may have more votes than one transaction removes.
create table messaging.votes (
  message text collate "C" not null,
  voter text collate "C" not null,
  expires_at bigint not null,
  primary key (message, voter) -- findPost, addVote
);
create index votes_expiry on messaging.votes (expires_at); -- purge

grant select, insert, update, delete on messaging.votes to messaging;
