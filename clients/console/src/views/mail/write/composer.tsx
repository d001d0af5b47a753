import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { attempt, explain, explainFor, isAbort } from '../../../state/failures.ts'
import type { Draft } from '../../../state/mail/drafts.ts'
import { isTooLarge, sizeOf } from '../../../state/mail/price.ts'
import { answersOf, type Recipient, readBody, recipientOf, submit } from '../../../state/mail/submit.ts'
import { notify } from '../../../state/notices.ts'
import { strings } from '../../../strings.ts'
import type { KeptDraft } from '../../../vault/agent-store.ts'
import { Field, Switch } from '../../parts/field.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Cost } from './cost.tsx'
import { RecipientField } from './recipient-field.tsx'

const { write } = strings
const SAVE_AFTER_MS = 400
/** Accepting a contact (spec 11.2). */
const CONTACT_UNITS = 1

interface Properties {
  /** A draft to continue. Without it a new draft begins with `fields`. */
  readonly draft?: Draft | undefined
  readonly fields?: Partial<KeptDraft>
  readonly isReply?: boolean
  /** How many subscribers a post is charged for. Undefined if this is not a post, or if only the owner knows. */
  readonly subscribers?: number | undefined
  /** Without an id if no answer came. */
  readonly onDone: (messageId: string | undefined) => void
  readonly onDiscard: () => void
}

/** Writes a message or a post. Its text is kept as a draft until it is sent. */
export function Composer(properties: Properties): JSX.Element {
  const { draft: given, fields = {}, isReply = false, subscribers, onDone, onDiscard } = properties
  const workspace = useWorkspace()
  const { drafts, budget, context } = workspace
  const [draft, setDraft] = useState<Draft>(() => given ?? findReply(drafts.all.value, fields) ?? drafts.create(fields))
  const [isChecked, setChecked] = useState(false)
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const latest = useRef(draft)
  const isDone = useRef(false)
  const form = useId()

  const recipient = recipientOf(draft.to, context.authority.value)
  const isPost = draft.to.startsWith('board:')
  const asksRecipient = (!isReply || fields.to === '') && !(isPost && fields.to !== undefined)
  const isRecipientWrong = asksRecipient && recipient === undefined
  const answers = answersOf(recipient, workspace)
  const acceptReplies = answers === 'offered' && draft.acceptReplies !== false
  const { body, problem: jsonProblem } = readBody(draft)
  const size = sizeOf(body ?? draft.text, { sealed: draft.isSealed && !isPost, isPost, recipients: subscribers ?? 1 })

  useEffect(() => {
    void attempt(() => budget.refresh())
    // Also save the latest text if the page changes before the timer runs.
    return () => {
      if (!isDone.current) drafts.save(latest.current)
    }
  }, [])
  useEffect(() => {
    latest.current = draft
    const timer = setTimeout(() => {
      if (!isDone.current) drafts.save(draft)
    }, SAVE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [draft])

  async function send(): Promise<void> {
    setChecked(true)
    if (isSending || body === undefined || draft.text === '' || isTooLarge(size)) return
    setSending(true)
    setProblem(undefined)
    try {
      isDone.current = true
      const result = await submit(workspace, draft, recipient, acceptReplies)
      const sent = result?.lane === 'requests' ? write.sentRequest : isPost ? write.posted : write.sent
      notify(result === undefined ? write.noAnswer : sent, result === undefined ? 'failed' : 'done')
      void attempt(() => budget.refresh())
      onDone(result?.msg_id)
    } catch (error) {
      isDone.current = false
      drafts.save(latest.current)
      if (!isAbort(error)) setProblem(explainRefusal(error, recipient))
    } finally {
      setSending(false)
    }
  }

  return (
    <form
      class="composer"
      aria-label={isPost ? strings.boards.write : isReply ? write.replying : strings.pages.write}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {asksRecipient && (
        <RecipientField
          value={draft.to}
          onInput={(to) => {
            setProblem(undefined)
            setDraft({ ...draft, to })
          }}
          problem={isRecipientWrong ? problem : undefined}
          hasFocus={draft.to === ''}
        />
      )}
      {isReply && !isPost && fields.to !== '' && <bdi class="hint">{strings.sent.to(draft.to)}</bdi>}
      <Field
        label={isPost ? write.postText : write.text}
        value={draft.text}
        onInput={(text) => setDraft({ ...draft, text })}
        rows={isReply || isPost ? 4 : 10}
        isCode={draft.isJson}
        hasFocus={draft.to !== ''}
        problem={!isChecked ? undefined : draft.text === '' ? write.noText : jsonProblem}
      />
      <div class="composer-options">
        {!isPost && (
          <Switch
            label={write.seal}
            hint={write.sealHint}
            isOn={draft.isSealed}
            onChange={(isSealed) => setDraft({ ...draft, isSealed })}
          />
        )}
        <Switch label={write.json} isOn={draft.isJson} onChange={(isJson) => setDraft({ ...draft, isJson })} />
        {answers === 'offered' && (
          <Switch
            label={write.acceptReplies}
            hint={write.acceptRepliesHint}
            isOn={acceptReplies}
            onChange={(next) => setDraft({ ...draft, acceptReplies: next })}
          />
        )}
      </div>
      {answers === 'blocked' && <p class="hint">{write.recipientBlocked}</p>}
      <Cost
        id={form}
        size={size}
        acceptUnits={acceptReplies ? CONTACT_UNITS : 0}
        isPost={isPost}
        subscribers={subscribers}
        recipient={recipient}
      />
      {problem !== undefined && !isRecipientWrong && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="actions">
        <button type="submit" class="primary" aria-busy={isSending} aria-describedby={form}>
          {isSending ? write.sending : isPost ? write.post : write.send}
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            isDone.current = true
            drafts.discard(draft.id)
            onDiscard()
          }}
        >
          {write.discard}
        </button>
      </div>
    </form>
  )
}

function explainRefusal(error: unknown, recipient: Recipient | undefined): string {
  if (recipient?.kind === 'agent') return explainFor(recipient.name, error)
  if (recipient?.kind === 'board' && isCode(error, 'forbidden')) return strings.boards.mayNotPost
  return explain(error)
}

/** The draft of an answer that was begun before. */
function findReply(all: readonly Draft[], { replyTo, to }: Partial<KeptDraft>): Draft | undefined {
  return all.find(
    (draft) => draft.replyTo === replyTo && (replyTo !== undefined || (to !== undefined && draft.to === to)),
  )
}
