/** The article of a post, which can have the focus. */
export function elementOf(postId: string): HTMLElement | null {
  return document.getElementById(`post-${postId}`)
}
