/** Exit codes, for scripts. `--help` and docs/reference/cli.md show this table. */
export const EXIT = { done: 0, failed: 1, usage: 2, found: 3, unconfirmed: 4, interrupted: 130 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_MEANINGS: { readonly [name in keyof typeof EXIT]: string } = {
  done: 'done',
  failed: 'failed: the message gives the reason',
  usage: 'invalid command line: nothing was done',
  found: 'a problem was found (doctor, repair, inspect of a corrupt file, migrate --check)',
  unconfirmed: 'confirmation required: answer on a terminal, or use --yes',
  interrupted: 'interrupted by Ctrl-C or a signal',
}
