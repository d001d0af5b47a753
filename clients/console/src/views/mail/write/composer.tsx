import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { explain, explainFor, inPassing, isAbort } from '../../../state/failures.ts'
import type { Conversation } from '../../../state/mail/conversations.ts'
import type { Draft } from '../../../state/mail/drafts.ts'
import { isTooLarge, sizeOf } from '../../../state/mail/price.ts'
import { answersOf, type Recipient, readBody, recipientOf, submit } from '../../../state/mail/submit.ts'
import { dismiss, notify } from '../../../state/notices.ts'
import { strings } from '../../../strings.ts'
import type { KeptDraft } from '../../../vault/agent-store.ts'
import { Field, Switch } from '../../parts/field.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Cost, CostProblem, priceOf } from './cost.tsx'
import { Options } from './options.tsx'
import { RecipientField } from './recipient-field.tsx'

const { write } = strings
/** Accepting a contact (spec 11.2). */
const CONTACT_UNITS = 1

interface Properties {
  /** A draft to continue. Without it a new draft begins with `fields`. */
  readonly draft?: Draft | undefined
  readonly fields?: Partial<KeptDraft>
  /** The conversation at whose end this is. */
  readonly conversation?: Conversation | undefined
  /** What the message answers when it is sent. The draft may say otherwise. */
  readonly answer?: {
    readonly replyTo: string | undefined
    readonly threadId: string | undefined
    readonly type: EnvelopeType | undefined
  }
  /** Whether this answers a post. */
  readonly isReply?: boolean
  /** How many subscribers a post is charged for. Undefined if this is not a post, or if only the owner knows. */
  readonly subscribers?: number | undefined
  /** The message was accepted, or it waits for the service. */
  readonly onDone: (messageId: string | undefined) => void
  /** Absent if the composer is always there. */
  readonly onDiscard?: () => void
}

/** Writes a message or a post. Its text is kept as a draft until it is sent. */
export function Composer(properties: Properties): JSX.Element {
  const {
    draft: given,
    fields = {},
    conversation,
    answer,
    isReply = false,
    subscribers,
    onDone,
    onDiscard,
  } = properties
  const workspace = useWorkspace()
  const { drafts, budget, context, outbox } = workspace
  const [draft, setDraft] = useState<Draft>(
    () => given ?? findDraft(drafts.all.value, fields, conversation) ?? drafts.create(fields),
  )
  const [isChecked, setChecked] = useState(false)
  const [sending, setSending] = useState<AbortController | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const latest = useRef(draft)
  const isDone = useRef(false)
  const isShown = useRef(true)
  const form = useId()

  const recipient = recipientOf(draft.to, context.authority.value)
  const isPost = draft.to.startsWith('board:')
  const nameOf = recipient?.kind === 'agent' ? recipient.name : draft.to
  const isAnswer = conversation !== undefined || isReply
  const asksRecipient = conversation === undefined && !(isPost && fields.to !== undefined)
  const answers = answersOf(recipient, workspace)
  const acceptReplies = answers === 'offered' && draft.acceptReplies !== false
  const { body, problem: jsonProblem } = readBody(draft)
  const size = sizeOf(body ?? draft.text, { sealed: draft.isSealed && !isPost, isPost, recipients: subscribers ?? 1 })

  useEffect(() => {
    inPassing(budget.refresh())
    return () => {
      isShown.current = false
      if (!isDone.current) drafts.save(latest.current)
    }
  }, [])
  useLayoutEffect(() => {
    // What a conversation answers is a part of its draft, so that the draft is found again.
    latest.current = { ...draft, ...referencesOf(draft, answer) }
    // At once, because the page may be closed at any moment.
    if (!isDone.current) drafts.save(latest.current)
  }, [draft, answer?.replyTo])

  async function send(): Promise<void> {
    setChecked(true)
    if (sending !== undefined || body === undefined || draft.text === '' || isTooLarge(size)) return
    const control = new AbortController()
    setSending(control)
    setProblem(undefined)
    try {
      isDone.current = true
      const wanted = { ...draft, ...referencesOf(draft, answer) }
      const { id, result } = await submit(workspace, wanted, recipient, {
        acceptReplies,
        type: answer?.type,
        signal: control.signal,
      })
      if (result?.lane === 'requests') notify(write.sentRequest)
      else if (isPost && result !== undefined) notify(write.posted)
      inPassing(budget.refresh())
      const next = drafts.create(fields)
      // The page may take the composer away, which saves the latest text.
      latest.current = next
      setDraft(next)
      setChecked(false)
      if (result?.lane === 'inbox') dismiss()
      // The person may have gone elsewhere, or cancelled the message where it waits.
      const isKept = result !== undefined || outbox.pending.value.has(id)
      if (isShown.current) onDone(isKept ? id : undefined)
    } catch (error) {
      drafts.save(latest.current)
      if (!isAbort(error)) setProblem(explainRefusal(error, recipient))
    } finally {
      isDone.current = false
      setSending(undefined)
    }
  }

  const textProblem = !isChecked ? undefined : draft.text === '' ? write.noText : jsonProblem
  const isRecipientProblem =
    problem !== undefined && asksRecipient && (recipient === undefined || isUnknown(problem, recipient))
  const acceptSwitch = answers === 'offered' && (
    <Switch
      label={write.acceptReplies(nameOf)}
      hint={write.acceptRepliesHint(nameOf)}
      isOn={acceptReplies}
      onChange={(next) => setDraft({ ...draft, acceptReplies: next })}
    />
  )
  const price = { size, acceptUnits: acceptReplies ? CONTACT_UNITS : 0, isPost, subscribers }
  return (
    <form
      class={`composer ${conversation === undefined ? '' : 'inline'}`}
      aria-label={isAnswer ? write.replying : isPost ? strings.boards.write : strings.pages.write}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          void send()
        } else if (event.key === 'Escape' && event.target instanceof HTMLElement) leave(event.target)
      }}
    >
      {asksRecipient && (
        <RecipientField
          value={draft.to}
          onInput={(to) => {
            setProblem(undefined)
            setDraft({ ...draft, to })
          }}
          problem={isRecipientProblem ? problem : undefined}
          hasFocus={draft.to === ''}
        />
      )}
      <Field
        label={conversation === undefined ? (isPost ? write.postText : write.text) : write.messageTo(nameOf)}
        isLabelHidden={conversation !== undefined}
        placeholder={conversation === undefined ? undefined : write.messageTo(nameOf)}
        value={draft.text}
        onInput={(text) => setDraft({ ...draft, text })}
        rows={conversation === undefined ? (isPost ? 4 : 10) : 2}
        isCode={draft.isJson}
        hasFocus={conversation === undefined && draft.to !== ''}
        problem={textProblem}
      />
      {acceptSwitch}
      <CostProblem {...price} />
      {answers === 'blocked' && <p class="hint">{write.recipientBlocked}</p>}
      {problem !== undefined && !isRecipientProblem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="composer-foot">
        <Options
          draft={draft}
          isPost={isPost}
          price={conversation === undefined ? undefined : priceOf(price)}
          onChange={setDraft}
        >
          <Cost id={form} recipient={recipient} {...price} />
        </Options>
        <div class="actions">
          {sending === undefined ? (
            onDiscard !== undefined && (
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
            )
          ) : (
            <button
              type="button"
              class="quiet"
              onClick={() => sending.abort(new DOMException('cancelled', 'AbortError'))}
            >
              {strings.cancel}
            </button>
          )}
          <button
            type="submit"
            class="primary"
            aria-busy={sending !== undefined}
            aria-describedby={form}
            title="Ctrl+Enter"
          >
            {sending !== undefined ? write.sending : isPost ? write.post : write.send}
          </button>
        </div>
      </div>
    </form>
  )
}

/** Single keys work again. The focus stays near. */
function leave(field: HTMLElement): void {
  field.blur()
  field.closest('.conversation')?.querySelector<HTMLElement>('.turns')?.focus()
}

function isUnknown(problem: string, recipient: Recipient): boolean {
  return recipient.kind === 'agent' && problem === write.noRecipient(recipient.name)
}

function explainRefusal(error: unknown, recipient: Recipient | undefined): string {
  if (recipient?.kind === 'agent') return explainFor(recipient.name, error)
  if (recipient?.kind === 'board' && isCode(error, 'forbidden')) return strings.boards.mayNotPost
  return explain(error)
}

function referencesOf(draft: Draft, answer: Properties['answer']): Partial<KeptDraft> {
  const replyTo = answer?.replyTo ?? draft.replyTo
  const threadId = answer?.threadId ?? draft.threadId
  return { ...(replyTo === undefined ? {} : { replyTo }), ...(threadId === undefined ? {} : { threadId }) }
}

/** The draft that was begun at this place before. */
function findDraft(
  all: readonly Draft[],
  { replyTo, to }: Partial<KeptDraft>,
  conversation: Conversation | undefined,
): Draft | undefined {
  if (conversation !== undefined) {
    const ids = new Set(conversation.entries.map(({ message }) => message.envelope.id))
    return all.find((draft) => draft.replyTo !== undefined && ids.has(draft.replyTo))
  }
  return all.find(
    (draft) => draft.replyTo === replyTo && (replyTo !== undefined || (to !== undefined && draft.to === to)),
  )
}
