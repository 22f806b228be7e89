import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Serious and critical findings of axe, each with the first element that has it. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return await page.evaluate(async () => {
    type Found = { violations: { id: string; impact: string; nodes: { html: string }[] }[] }
    const page = globalThis as unknown as { axe: { run(): Promise<Found> } }
    const { violations } = await page.axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
  })
}
