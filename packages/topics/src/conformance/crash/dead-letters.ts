import type { DeadLetterMessage, Tidemark } from '../../index.ts'

export async function allDeadLetters(tm: Tidemark, topic: string, group: string): Promise<DeadLetterMessage[]> {
  const all: DeadLetterMessage[] = []
  for (;;) {
    const page = await tm.admin.deadLetters(topic, { group, after: all.at(-1)?.id ?? 0, limit: 1_000 })
    if (page.length === 0) return all
    all.push(...page)
  }
}
