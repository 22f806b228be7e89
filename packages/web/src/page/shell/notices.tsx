import { dismiss, notices, spoken } from '../notices.ts'

export function Notices() {
  return (
    <>
      <div class="offscreen" role="status" aria-live="polite">
        {spoken}
      </div>
      <div class="notices">
        {notices.value.map(({ id, text, kind, undo }) => (
          <div key={id} class={`notice ${kind}`}>
            <span>{text}</span>
            {undo && (
              <button
                type="button"
                onClick={() => {
                  dismiss(id)
                  undo.run()
                }}
              >
                {undo.label}
              </button>
            )}
            <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
              ×
            </button>
          </div>
        ))}
      </div>
    </>
  )
}
