import { groupAddress } from '../address.ts'
import { at, get } from '../http.ts'
import { topicNamed } from '../live.ts'
import { useLoaded } from '../parts/load.ts'
import { type Kind, Mark } from '../parts/mark.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import type { GroupLive } from '../shapes.ts'
import type { StoredMessage } from './stored-message.ts'

type Completion = { readonly required: readonly string[]; readonly completed: readonly string[] }
type Progress = 'done' | 'taken' | 'waiting' | 'not asked'

const WORDS: { readonly [progress in Progress]: readonly [Kind, string] } = {
  done: ['ok', 'done'],
  taken: ['warning', 'taken, not yet done'],
  waiting: ['off', 'waiting'],
  'not asked': ['off', 'not meant for it'],
}

/**
 * Each group, and whether it has processed this message. A reference topic knows it per message, an offset topic from
 * positions.
 */
export function WhoHasDoneIt({ topic, message }: { topic: string; message: StoredMessage }) {
  const live = topicNamed(topic)
  const isReference = live?.config.tracking === 'reference'
  const loaded = useLoaded(
    async signal => (isReference ? await completionOf(topic, message.messageId, signal) : null),
    [topic, message.messageId, isReference],
    2_000,
  )
  if (live === undefined) return null
  if (loaded.error.value !== undefined) return <Failed error={loaded.error.value} retry={loaded.reload} />
  const completion = loaded.value.value
  if (isReference && completion === undefined) return <Loading rows={3} />
  if (live.groups.length === 0) return <p class="muted">Nobody is subscribed.</p>
  return (
    <>
      <ul class="stack tight">
        {live.groups.map(group => {
          const progress = completion ? ofCompletion(completion, group.group) : ofPosition(group, message.id)
          const [kind, word] = WORDS[progress]
          return (
            <li key={group.group} class="row spread">
              <a class="truncate" href={groupAddress(topic, group.group)}>
                {group.group === '' ? 'queue' : group.group}
              </a>
              <Mark kind={kind} word={word}>
                {word}
              </Mark>
            </li>
          )
        })}
      </ul>
      {!isReference && (
        <p class="muted small">By the groups' positions. A message that failed for good counts as done.</p>
      )}
    </>
  )
}

async function completionOf(topic: string, messageId: string, signal: AbortSignal): Promise<Completion | undefined> {
  const { completion } = await get<{ completion: Completion[] }>(`${at('topics', topic)}/completion`, {
    signal,
    query: { messageId, limit: 1 },
  })
  return completion[0] ?? { required: [], completed: [] }
}

const ofCompletion = ({ required, completed }: Completion, group: string): Progress =>
  completed.includes(group) ? 'done' : required.includes(group) ? 'waiting' : 'not asked'

export function ofPosition({ cursor, watermark }: Pick<GroupLive, 'cursor' | 'watermark'>, id: number): Progress {
  if (watermark !== null && watermark >= id) return 'done'
  return cursor !== null && cursor >= id ? 'taken' : 'waiting'
}
