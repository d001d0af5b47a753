import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt, explain } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Copyable } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { settings: texts } = strings

/** The endpoint that the service posts messages to. */
export function WebhookBox(): JSX.Element {
  const { settings } = useWorkspace()
  const webhook = settings.webhook.value
  return (
    <section class="box" aria-label={texts.webhook}>
      <header class="box-head">
        <h2>{texts.webhook}</h2>
        <BusyButton
          class="quiet small"
          label={`${texts.refresh}: ${texts.webhook}`}
          onPress={() => settings.refreshWebhook()}
        >
          {texts.refresh}
        </BusyButton>
      </header>
      {webhook === null && <p>{texts.webhookNone}</p>}
      {webhook !== null && webhook !== undefined && (
        <>
          <p class="code">{webhook.url}</p>
          <p class="badges">
            <span class="badge plain">{texts.webhookPending(webhook.pending)}</span>
            <span class={`badge ${webhook.failed > 0 ? 'bad' : 'plain'}`}>{texts.webhookFailed(webhook.failed)}</span>
          </p>
          <BusyButton
            onPress={async () => {
              await settings.deleteWebhook()
              notify(texts.webhookDeleted)
            }}
          >
            {texts.webhookDelete}
          </BusyButton>
        </>
      )}
      <WebhookForm isSet={webhook !== null && webhook !== undefined} />
    </section>
  )
}

function WebhookForm({ isSet }: { isSet: boolean }): JSX.Element {
  const { settings, budget } = useWorkspace()
  const [url, setUrl] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [secret, setSecret] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)

  async function set(): Promise<void> {
    if (isBusy || url.trim() === '') return
    setBusy(true)
    try {
      setSecret(await settings.setWebhook(url.trim()))
      setProblem(undefined)
      setUrl('')
      await attempt(() => budget.refresh())
    } catch (error) {
      setProblem(explain(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      aria-label={texts.webhookSet}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void set()
      }}
    >
      <Field
        label={texts.webhookUrl}
        type="url"
        value={url}
        onInput={setUrl}
        hint={isSet ? `${texts.webhookHint} ${texts.webhookReset}` : texts.webhookHint}
        problem={problem}
      />
      <button type="submit" aria-busy={isBusy}>
        {texts.webhookSet}
      </button>
      {secret !== undefined && (
        <Dialog title={texts.secretTitle} onClose={() => setSecret(undefined)}>
          <p>{texts.secretText}</p>
          <Copyable value={secret} label={texts.secretTitle} />
          <div class="actions">
            <button type="button" class="primary" onClick={() => setSecret(undefined)}>
              {strings.close}
            </button>
          </div>
        </Dialog>
      )}
    </form>
  )
}
