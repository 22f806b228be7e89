import type { ComponentChildren } from 'preact'
import { ScrollBox } from './scroll-box.tsx'

/** 1: always, also on a phone's card. 2: from 600 px. 3: from 1024 px. */
type Priority = 1 | 2 | 3

export type Column<T> = {
  readonly name: string
  readonly cell: (row: T) => ComponentChildren
  /** Numbers are right-aligned, so that their digits are below each other. */
  readonly isNumber?: boolean
  readonly priority?: Priority
  readonly class?: string
  /** Full value, if the cell shortens it. */
  readonly title?: (row: T) => string | undefined
  /** Name of the order that a click on the heading selects. */
  readonly sort?: string
}

type Sorting = {
  readonly by: string
  readonly direction: 'ascending' | 'descending'
  choose(sort: string): void
}

type TableProps<T> = {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string | number
  readonly sorting?: Sorting
  /** Follows a click anywhere on the row; the keyboard uses the row's own link. */
  readonly open?: (row: T) => void
  readonly isSelected?: (row: T) => boolean
  /** Old rows, while new ones are loading. */
  readonly isOld?: boolean
  readonly panel?: boolean
  /** Rows of a long list that are not drawn, above and below. */
  readonly window?: { readonly first: number; readonly before: number; readonly after: number; readonly count: number }
}

/**
 * A real table on a wide screen, and a card per row on a phone: its first column is the title, the others are facts.
 */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
  sorting,
  open,
  isSelected,
  isOld = false,
  panel = false,
  window,
}: TableProps<T>) {
  return (
    <ScrollBox label={label} panel={panel}>
      <table
        class={isOld ? 'table dimmed' : 'table'}
        aria-rowcount={window === undefined ? undefined : window.count + 1}
      >
        <thead>
          <tr>
            {columns.map(column => (
              <Heading key={column.name} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody class="values">
          <Spacer height={window?.before} columns={columns.length} />
          {rows.map((row, index) => (
            <tr
              key={keyOf(row)}
              class={open === undefined ? undefined : 'link'}
              aria-selected={isSelected?.(row)}
              aria-rowindex={window === undefined ? undefined : window.first + index + 2}
              onClick={
                open && (event => void ((event.target as Element).closest('a, button, input, summary') ?? open(row)))
              }
            >
              {columns.map(column => (
                <Cell key={column.name} column={column} row={row} />
              ))}
            </tr>
          ))}
          <Spacer height={window?.after} columns={columns.length} />
        </tbody>
      </table>
    </ScrollBox>
  )
}

function Heading<T>({ column, sorting }: { column: Column<T>; sorting: Sorting | undefined }) {
  const { name, sort } = column
  if (sort === undefined || sorting === undefined)
    return (
      <th scope="col" class={classOf(column)}>
        {name}
      </th>
    )
  const isChosen = sorting.by === sort
  return (
    <th scope="col" class={classOf(column)} aria-sort={isChosen ? sorting.direction : undefined}>
      <button type="button" class="sort" onClick={() => sorting.choose(sort)}>
        {name}
        <span class="sort-mark" aria-hidden="true">
          {isChosen ? (sorting.direction === 'ascending' ? '▴' : '▾') : ''}
        </span>
      </button>
    </th>
  )
}

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  return (
    <td class={classOf(column)} title={column.title?.(row)} data-name={column.name}>
      {column.cell(row)}
    </td>
  )
}

const classOf = <T,>({ isNumber = false, priority = 1, class: given = '' }: Column<T>): string | undefined =>
  [isNumber && 'number', priority > 1 && `from-${priority}`, given].filter(Boolean).join(' ') || undefined

/** Keeps the space of rows that are not drawn. */
function Spacer({ height = 0, columns }: { height: number | undefined; columns: number }) {
  return height > 0 ? (
    <tr class="spacer">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  ) : null
}
