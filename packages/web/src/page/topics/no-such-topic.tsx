import { count } from '../format.ts'
import { overview } from '../live.ts'
import { Empty } from '../parts/states.tsx'

/** Of very many topics, the page knows only the first. */
export function NoSuchTopic({ name }: { name: string }) {
  const found = overview.value
  const known = found?.omitted ? ` among the first ${count(found.topics.length)}` : ''
  return (
    <Empty isWhole title={`There is no topic ${name}${known}`}>
      {known ? 'The page shows no others.' : 'It may have been deleted.'} <a href="/topics">All topics</a>
    </Empty>
  )
}
