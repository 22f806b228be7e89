import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  backfillText,
  cancelText,
  letGoText,
  pauseText,
  progressWords,
  removeText,
  resetLabel,
  resetText,
  resumeText,
  resurrectText,
} from '../src/page/groups/group-texts.ts'
import { meanOfWork } from '../src/page/groups/mean-of-work.ts'

const plain = (text: string): string => text.replaceAll('\u202f', ' ')
const DAY = 86_400_000

describe('what an action on a group says beforehand', () => {
  it('names what is in flight, and how long messages wait for a paused group', () => {
    assert.equal(
      plain(pauseText('email', 24, 30 * DAY)),
      'email takes nothing new. 24 in flight finish. What comes waits, up to 30 d.',
    )
    assert.equal(plain(pauseText('email', 0, null)), 'email takes nothing new. Nothing is in flight. What comes waits.')
  })

  it('says how many wait, and about how long they take', () => {
    assert.equal(plain(resumeText(48_210, 310)), '48 210 are waiting; at 310/s that takes about 2 min.')
    assert.equal(plain(resumeText(1, undefined)), '1 is waiting.')
    assert.equal(resumeText(0, 310), 'Nothing is waiting.')
    assert.equal(meanOfWork([null, 0, 4, 8, 0]), 6)
    assert.equal(meanOfWork([null, 0]), undefined)
  })

  it('says what each way of resurrecting leaves out', () => {
    assert.equal(plain(resurrectText('where', 61_000, 10_000)), 'Goes on where it stopped: 61 000 messages waiting.')
    assert.equal(
      plain(resurrectText('newest', 61_000, 10_000)),
      'Goes on with the newest 10 000: 51 000 messages are skipped and count as lost.',
    )
    assert.equal(plain(resurrectText('newest', 12, 10_000)), 'Goes on with the newest 12; nothing is skipped.')
    assert.equal(
      plain(resurrectText('present', 1, 10_000)),
      'Goes on at the present: 1 message is skipped and counts as lost.',
    )
  })

  it('tells the direction and the number of a reset', () => {
    const back = {
      from: 20,
      to: 2,
      direction: 'back',
      messages: 18_402,
      atMost: false,
      inFlight: 24,
      retries: 2,
    } as const
    assert.equal(plain(resetText('email', back, false)), '18 402 messages come again')
    assert.equal(plain(resetText('email', back, true)), '18 402 messages come again, by backfill')
    assert.equal(plain(resetLabel(back)), 'Move back by 18 402')
    const forward = { ...back, direction: 'forward', messages: 1, atMost: true } as const
    assert.equal(plain(resetText('email', forward, false)), 'Up to 1 message never reaches email.')
    assert.equal(resetLabel({ ...back, direction: 'none', messages: 0 }), 'Move')
    assert.equal(
      letGoText('email', 24, 2),
      'What email holds is let go: 24 in flight may be done twice, 2 retries drop.',
    )
    assert.equal(letGoText('email', 0, 0), 'email holds nothing now.')
  })

  it('says what cannot be undone', () => {
    assert.equal(
      plain(cancelText('email', 1_203)),
      "email ends for good; 1 203 waiting are not delivered to it. Others aren't touched.",
    )
    assert.equal(
      removeText('email', 24, 3),
      'Cancels email, waits up to 10 s for 24 in flight, and deletes it. Its 3 dead letters stay.',
    )
    assert.match(plain(backfillText('start', 0)), /^Up to 1 000 000 earlier messages/)
  })
})

describe('the progress of a backfill', () => {
  const running = {
    status: 'RUNNING',
    progress: 0.615,
    ratePerSecond: 8_200,
    etaMs: 120_000,
    processed: 61,
    error: null,
  } as const

  it('says how far it is, and that live traffic slows it down', () => {
    assert.equal(plain(progressWords({ ...running, slowed: false })), '61 % · 8 200/s · 2 min left')
    assert.equal(
      plain(progressWords({ ...running, slowed: true })),
      '61 % · 8 200/s · 2 min left · slowed by live traffic',
    )
    assert.equal(
      plain(progressWords({ ...running, slowed: true, etaMs: null })),
      '61 % · 8 200/s · slowed by live traffic',
    )
  })

  it('says how it ended', () => {
    assert.equal(progressWords({ ...running, slowed: false, status: 'COMPLETED' }), 'complete: 61 brought')
    assert.equal(
      progressWords({ ...running, slowed: false, status: 'FAILED', error: 'disk full' }),
      'failed at 61 %: disk full',
    )
  })
})
