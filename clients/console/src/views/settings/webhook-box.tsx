import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt, explain } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Copyable } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { useProblemFocus } from '../start/problem-focus.ts'
import { useWorkspace } from '../workspace-context.ts'
import { Row } from './row.tsx'

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
      {webhook === null && (
        <Row label={texts.webhookNow}>
          <p>{texts.webhookNone}</p>
        </Row>
      )}
      {webhook !== null && webhook !== undefined && (
        <>
          <dl class="facts">
            <dt>{texts.webhookUrl}</dt>
            <dd class="code">{webhook.url}</dd>
          </dl>
          <Row label={texts.webhookDeliveries}>
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
          </Row>
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
  const [form, focusProblem] = useProblemFocus()

  async function set(): Promise<void> {
    if (isBusy) return
    if (url.trim() === '') {
      setProblem(texts.webhookNoUrl)
      focusProblem()
      return
    }
    setBusy(true)
    try {
      setSecret(await settings.setWebhook(url.trim()))
      setProblem(undefined)
      setUrl('')
      await attempt(() => budget.refresh())
    } catch (error) {
      setProblem(explain(error))
      focusProblem()
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      ref={form}
      aria-label={texts.webhookSet}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void set()
      }}
    >
      <Field
        label={isSet ? texts.webhookNewUrl : texts.webhookUrl}
        type="url"
        value={url}
        onInput={setUrl}
        hint={isSet ? `${texts.webhookHint} ${texts.webhookReset}` : texts.webhookHint}
        problem={problem}
      />
      <div class="setting">
        <button type="submit" aria-busy={isBusy}>
          {texts.webhookSet}
        </button>
      </div>
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
