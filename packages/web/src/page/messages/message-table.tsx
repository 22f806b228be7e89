import { pushQuery, query } from '../address.ts'
import { clock, moment } from '../format.ts'
import { type Column, Table } from '../parts/table.tsx'
import { zone } from '../parts/zone.ts'
import { type StoredMessage, shortType, summaryOf } from './stored-message.ts'

const open = ({ id }: StoredMessage): void => pushQuery({ m: String(id) })

const COLUMNS: readonly Column<StoredMessage>[] = [
  {
    name: 'Id',
    class: 'mono fit',
    cell: message => (
      <button type="button" class="plain mono" data-message={message.id} onClick={() => open(message)}>
        {message.id}
      </button>
    ),
  },
  {
    name: 'Time',
    class: 'mono fit',
    title: ({ createdAt }) => moment(new Date(createdAt), zone()),
    cell: ({ createdAt }) => timeOf(createdAt),
  },
  { name: 'Key', class: 'mono key', title: ({ key }) => key ?? undefined, cell: ({ key }) => key ?? <None /> },
  { name: 'Type', class: 'muted fit', priority: 3, title: ({ type }) => type, cell: shortType },
  { name: 'Payload', class: 'mono payload', cell: message => summaryOf(message) },
]

export function MessageTable({ messages, isOld = false }: { messages: readonly StoredMessage[]; isOld?: boolean }) {
  const selected = query.value.get('m')
  return (
    <Table
      label="Messages"
      panel
      columns={COLUMNS}
      rows={messages}
      keyOf={({ id }) => id}
      open={open}
      isSelected={({ id }) => String(id) === selected}
      isOld={isOld}
    />
  )
}

const None = () => <span class="muted">–</span>

/** 14:02:11.204 */
function timeOf(createdAt: string): string {
  const time = new Date(createdAt)
  return `${clock(time, zone())}.${String(time.getMilliseconds()).padStart(3, '0')}`
}
