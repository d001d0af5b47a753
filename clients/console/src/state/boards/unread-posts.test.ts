import { signal } from '@preact/signals'
import { expect, test } from 'vitest'
import { postsSinceUnread, unreadOnBoard, unreadPosts } from './unread-posts.ts'

test.each([
  ['nothing is read', 0, [], 3, 2, 2],
  ['what is read in order', 4, [], 2, 1, 1],
  ['what is read beyond a gap', 1, [5, 7], 1, 1, 2],
  ['everything', 9, [], 0, 0, 0],
] as const)('posts that the reader has not seen: %s', (_, upTo, beyond, all, onFirst, since) => {
  const posts = new Map([
    ['first', [3, 5]],
    ['second', [7]],
  ])
  const workspace = {
    archive: { posts: signal(posts) },
    unread: { place: signal({ upTo, beyond: new Set<number>(beyond) }) },
  }
  expect(unreadPosts(workspace)).toBe(all)
  expect(unreadOnBoard(workspace, 'first')).toBe(onFirst)
  expect(postsSinceUnread(workspace, 'first')).toBe(since)
  expect(unreadOnBoard(workspace, 'unknown')).toBe(0)
})
