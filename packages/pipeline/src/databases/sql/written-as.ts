import type { IndexConnection } from '../index-connection.ts'
import type { Transaction } from '../transaction.ts'
import type { WrittenAs, WrittenAsRows } from '../written-as.ts'
import type { Dialect } from './dialect.ts'

const statements = ({ integer, withoutRowId, least, greatest, byBytes }: Dialect) => ({
  table: `
    create table if not exists run.environment_written (
      strategy text not null,
      settings text not null,
      tick_start ${integer} not null,
      tick_end ${integer} not null,
      primary key (strategy, settings)
    ) ${withoutRowId}`,
  record: `
    insert into run.environment_written as known (strategy, settings, tick_start, tick_end)
    values ($1, $2, $3, $4)
    on conflict (strategy, settings) do update set
      tick_start = ${least}(known.tick_start, excluded.tick_start),
      tick_end = ${greatest}(known.tick_end, excluded.tick_end)
    where excluded.tick_start < known.tick_start or excluded.tick_end > known.tick_end`,
  list: `
    select strategy, settings, tick_start as "tickStart", tick_end as "tickEnd"
    from run.environment_written
    order by strategy ${byBytes}, settings ${byBytes}`,
})

export class StoredWrittenAs implements WrittenAsRows {
  readonly #connection: IndexConnection
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: IndexConnection) {
    this.#connection = connection
    this.#sql = statements(connection.dialect)
  }

  async prepare(tx: Transaction): Promise<void> {
    await tx.run(this.#sql.table)
  }

  async record({ strategy, settings, tickStart, tickEnd }: WrittenAs, tx: Transaction): Promise<void> {
    await tx.run(this.#sql.record, strategy, settings, tickStart, tickEnd)
  }

  async list(): Promise<WrittenAs[]> {
    if (!(await this.#connection.hasTable('environment_written'))) return []
    return await this.#connection.read<WrittenAs>(this.#sql.list)
  }
}
