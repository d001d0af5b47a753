/** Some browsers read the object only in a later task, and a download whose object is gone fails without a word. */
const REVOKE_AFTER_MS = 10_000

/** Offers text as a download. The address of the object, which is random and never shown, ends soon after. */
export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS)
}
