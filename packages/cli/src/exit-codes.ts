/** What the command ends with, for scripts. `--help` and docs/cli.md show this table. */
export const EXIT = { done: 0, failed: 1, usage: 2, found: 3, unconfirmed: 4, interrupted: 130 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_MEANINGS: { readonly [name in keyof typeof EXIT]: string } = {
  done: 'done',
  failed: 'failed: the message says why',
  usage: 'the command line is wrong; nothing was done',
  found: 'something wrong was found (doctor, repair, inspect of a corrupt file, migrate --check)',
  unconfirmed: 'needs a yes: answer it on a terminal, or give --yes',
  interrupted: 'interrupted by Ctrl-C or a signal',
}
