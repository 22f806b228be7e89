import { count, whole } from '../format.ts'
import { isDark } from './dark.ts'
import { kindsOf } from './kinds.ts'
import type { LineageSize } from './lineages.ts'
import { kindColourText, OTHERS_SLOT, type Scheme, slotColourText } from './palette.ts'

type Props = {
  /** Whether the organisms of a tick were loaded. */
  isKnown: boolean
  scheme: Scheme
  types: readonly string[]
  lineages: readonly LineageSize[]
  picked: number | undefined
  pick(lineage: number | undefined): void
}

/** What the colours mean. A lineage is a button: picking one dims the rest. */
export function Legend({ isKnown, scheme, types, lineages, picked, pick }: Props) {
  if (scheme === 'value')
    return (
      <p class="world-legend row small">
        <span class="muted">value</span> 0 <span class="cividis" /> 1 000
      </p>
    )
  if (scheme === 'type') {
    const kinds = kindsOf(types)
    return (
      <ul class="world-legend row small">
        {types.map((name, type) =>
          type === 0 ? null : (
            <li key={name} class="row">
              <Swatch colour={kindColourText(kinds[type] ?? 0, isDark())} />
              {name || `type ${type}`}
            </li>
          ),
        )}
      </ul>
    )
  }
  if (scheme === 'owner')
    return <p class="world-legend small">Each owner has one of seven colours. Bright: much energy.</p>
  if (!isKnown) return null
  return (
    <ul class="world-legend row small" aria-label="Largest lineages">
      {lineages.map(({ lineage, alive, slot }) => (
        <li key={lineage}>
          <button
            type="button"
            class="chip"
            aria-pressed={picked === lineage}
            title={`Lineage ${lineage}: ${whole(alive)} alive`}
            onClick={() => pick(picked === lineage ? undefined : lineage)}
          >
            <Swatch colour={slotColourText(slot, isDark())} />
            {lineage} <span class="muted">{count(alive)}</span>
          </button>
        </li>
      ))}
      <li class="row">
        <Swatch colour={slotColourText(OTHERS_SLOT, isDark())} /> others
      </li>
    </ul>
  )
}

export function Swatch({ colour }: { colour: string }) {
  return (
    <svg class="swatch" width="10" height="10" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={colour} />
    </svg>
  )
}
