import { useEffect, useRef } from 'preact/hooks'
import { dotsFor } from './dot-rate.ts'
import { isMoving } from './motion.ts'

/** Distance between dots in pixels. */
const APART = 24

/** Dots that move along a path at a real rate. A change of the rate changes their speed without a jump. */
export function Dots({ path, perSecond }: { path: string; perSecond: number }) {
  const line = useRef<SVGPathElement>(null)
  const running = useRef<Animation | undefined>(undefined)
  const { dotsPerSecond, each } = dotsFor(perSecond)
  const speed = isMoving.value ? dotsPerSecond : 0
  useEffect(() => {
    const frames = [{ strokeDashoffset: '0' }, { strokeDashoffset: `${-APART}` }]
    running.current = line.current?.animate(frames, { duration: 1_000, iterations: Number.POSITIVE_INFINITY })
    running.current?.pause()
    return () => running.current?.cancel()
  }, [])
  useEffect(() => {
    const animation = running.current
    if (animation === undefined) return
    if (speed === 0) animation.pause()
    else {
      animation.updatePlaybackRate(speed)
      if (animation.playState !== 'running') animation.play()
    }
  }, [speed])
  return (
    <path
      ref={line}
      class="flow-dots"
      d={path}
      visibility={dotsPerSecond === 0 ? 'hidden' : undefined}
      stroke-dasharray={`0 ${APART}`}
      stroke-width={4 + Math.min(3, Math.log10(each))}
    />
  )
}
