import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { goTo, pushQuery, topicAddress } from '../../address.ts'
import { duration, rate } from '../../format.ts'
import { END, ResetForm } from '../../groups/reset-form.tsx'
import { Age } from '../../parts/age.tsx'
import { Modal } from '../../parts/confirm.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { useWidth } from '../../parts/use-width.ts'
import type { GroupLive, Lanes, TopicLive } from '../../shapes.ts'
import { Lane } from './lane.tsx'

import { LanesTable } from './lanes-table.tsx'
import { withLane } from './merged-lanes.ts'
import { PlotHead } from './plot-head.tsx'
import { type Scale, scaleOf } from './scale.ts'
import { useLanes, type Zoom, zoomed } from './use-lanes.ts'

/** With more lanes than this they are drawn closer together. */
const MOST_TALL = 12

/** The log as a river, and the groups as lanes along it. */
export function River({ topic }: { topic: TopicLive }) {
  const zoom = zoomed()
  const { lanes: found, error, reload } = useLanes(topic.topic, zoom)
  const isTable = useSignal(false)
  const moving = useSignal<Moving | undefined>(undefined)
  const scale = found && scaleFor(found, zoom)
  return (
    <section class="panel stack river" aria-labelledby="river">
      <div class="row spread">
        <h2 id="river">Groups</h2>
        <div class="row">
          {scale && !isTable.value && <Spans scale={scale} zoom={zoom} />}
          <button
            type="button"
            aria-pressed={isTable.value}
            onClick={() => {
              isTable.value = !isTable.value
            }}
          >
            As table
          </button>
        </div>
      </div>
      {isTable.value ? (
        <LanesTable topic={topic} lanes={found} />
      ) : error.value !== undefined && found === undefined ? (
        <Failed error={error.value} retry={reload} />
      ) : found === undefined ? (
        <Loading rows={2 + topic.groups.length} />
      ) : scale === undefined ? (
        <Nothing topic={topic} />
      ) : (
        <Drawing
          topic={topic}
          lanes={found}
          scale={scale}
          move={({ group }, to) => {
            moving.value = { group, to }
          }}
        />
      )}
      {moving.value !== undefined && (
        <Move
          topic={topic}
          moving={moving.value}
          close={() => {
            moving.value = undefined
          }}
        />
      )}
    </section>
  )
}

type Moving = { readonly group: string; readonly to: number }

/** The question that follows a dragged cursor. */
function Move({ topic, moving: { group: name, to }, close }: { topic: TopicLive; moving: Moving; close(): void }) {
  const group = topic.groups.find(each => each.group === name)
  if (group === undefined) return null
  return (
    <Modal label={`Move ${name === '' ? topic.topic : name}`} closed={close} wide>
      <ResetForm topic={topic} group={group} message={to > (topic.last ?? 0) ? END : String(to)} close={close} />
    </Modal>
  )
}

/** The right edge is now, unless the zoomed part ended before. */
function scaleFor({ buckets, last, takenAt }: Lanes, { to }: Zoom): Scale | undefined {
  const final = to === undefined ? takenAt : buckets.findLast(({ at }) => at !== null)?.at
  return scaleOf(buckets, to ?? last ?? 0, Date.parse(final ?? takenAt))
}

function Drawing({
  topic,
  lanes,
  scale,
  move,
}: {
  topic: TopicLive
  lanes: Lanes
  scale: Scale
  move(group: GroupLive, to: number): void
}) {
  const place = useRef<HTMLDivElement>(null)
  const width = useWidth(place).value
  const facts = new Map(lanes.groups.map(each => [each.group, each]))
  const open = (position: number): void =>
    goTo(`${topicAddress(topic.topic)}/messages?order=oldest&from=${Math.max(0, position - 1)}`)
  return (
    <div class={topic.groups.length > MOST_TALL ? 'river-drawing compact' : 'river-drawing'}>
      <div class="river-row">
        <div class="river-name muted small">
          oldest <Age at={topic.oldestAt ?? lanes.buckets[0]?.at ?? null} />
        </div>
        <PlotHead
          place={place}
          scale={scale}
          width={width}
          zoom={(from, to) => pushQuery({ from: String(from), to: to >= scale.last ? null : String(to) })}
          open={open}
        />
        <div class="river-figures muted small">
          <span>now {rate(topic.publishedPerSecond)}/s</span>
        </div>
      </div>
      <ul class="river-lanes values">
        {topic.groups.map(group => (
          <Lane
            key={group.group}
            topic={topic}
            group={withLane(group, facts.get(group.group))}
            facts={facts.get(group.group)}
            scale={scale}
            width={width}
            move={to => move(group, to)}
            open={open}
          />
        ))}
      </ul>
    </div>
  )
}

const SPANS_MS = [60_000, 600_000, 3_600_000] as const

/** The zoomed part, and the buttons to zoom out and in. */
function Spans({ scale, zoom }: { scale: Scale; zoom: Zoom }) {
  const isWhole = zoom.from === undefined && zoom.to === undefined
  const spanMs = scale.endMs - scale.startMs
  return (
    <fieldset class="row" aria-label="Shown part of the log">
      {!isWhole && <span class="muted small">{duration(spanMs)} shown</span>}
      {SPANS_MS.filter(each => each < spanMs).map(each => (
        <button
          key={each}
          type="button"
          onClick={() => pushQuery({ from: String(scale.positionAt(1 - each / spanMs)), to: null })}
        >
          {duration(each)}
        </button>
      ))}
      {!isWhole && (
        <button type="button" onClick={() => pushQuery({ from: null, to: null })}>
          All
        </button>
      )}
    </fieldset>
  )
}

/** Without messages there is no river: the groups are told in figures. */
function Nothing({ topic }: { topic: TopicLive }) {
  return (
    <>
      <p class="muted">Nothing is kept.</p>
      {topic.groups.length > 0 && <LanesTable topic={topic} lanes={undefined} />}
    </>
  )
}
