import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { useWorkspace } from '../workspace-context.ts'
import { shapeOf } from './shape.ts'

/**
 * A picture of an agent, drawn from its public key: anybody may choose a name that looks like another one, but not a key.
 * Decoration only: the name beside it, which also asks for an unknown key, says who it is.
 */
export function Avatar({ who, size = 32 }: { who: string; size?: number }): JSX.Element {
  const pubkey = useWorkspace().people.find(who)?.pubkey
  const drawing = useMemo(() => (pubkey === undefined ? <Unknown /> : <Shape pubkey={pubkey} />), [pubkey])
  return (
    <svg class="avatar" width={size} height={size} viewBox="0 0 7 7" aria-hidden="true" focusable="false">
      {drawing}
    </svg>
  )
}

function Shape({ pubkey }: { pubkey: string }): JSX.Element {
  const { ground, dark, light, darkCells, lightCells } = shapeOf(pubkey)
  return (
    <>
      <rect width="7" height="7" rx="1.4" fill={ground} />
      <path d={darkCells} fill={dark} shape-rendering="crispEdges" />
      <path d={lightCells} fill={light} shape-rendering="crispEdges" />
    </>
  )
}

function Unknown(): JSX.Element {
  return (
    <>
      <rect width="7" height="7" rx="1.4" fill="#7b828d" />
      <path
        d="M2.5 2.7a1 1 0 1 1 1.4.95c-.3.15-.4.3-.4.6M3.5 5.2h.01"
        fill="none"
        stroke="#ffffff"
        stroke-width=".6"
        stroke-linecap="round"
      />
    </>
  )
}
