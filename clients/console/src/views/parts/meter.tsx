import type { JSX } from 'preact'

/** How much of something is used. The text beside it says the same. */
export function Meter({ label, used, of }: { label: string; used: number; of: number }): JSX.Element {
  const share = of === 0 ? 1 : Math.min(1, used / of)
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw their own meter in ways that styles cannot change
    <div
      class={`meter ${share >= 0.9 ? 'full' : ''}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={Math.min(used, of)}
    >
      <span class="meter-bar" style={{ width: `${share * 100}%` }} />
    </div>
  )
}
