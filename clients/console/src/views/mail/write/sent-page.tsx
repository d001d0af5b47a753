import type { Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { shortId } from '../../../state/agent/short-id.ts'
import { attempt } from '../../../state/failures.ts'
import { textOf } from '../../../state/mail/search.ts'
import { goTo, route } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ForeignTitle } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { ROW_HEIGHT } from '../read/message-row.tsx'
import { PendingList } from '../read/pending-list.tsx'
import { SentPane } from './sent-pane.tsx'

const { sent } = strings

interface Row {
  readonly id: string
  readonly to: string
  readonly atMs: number
  /** Undefined if it was sealed and sent elsewhere. */
  readonly text: string | undefined
}

const PAGE_SIZE = 100
const PREVIEW_LENGTH = 160

/** Messages sent from this browser, and on demand those sent elsewhere. Envelopes without an answer come first. */
export function SentPage(): JSX.Element {
  const { outbox, context, people } = useWorkspace()
  const [elsewhere, setElsewhere] = useState<readonly Message[] | undefined>(undefined)
  const { id } = route.value
  const here = [...outbox.sent.value].map(
    ([messageId, { to, body, sentAtMs }]): Row => ({ id: messageId, to, atMs: sentAtMs, text: textOf(body as never) }),
  )
  const others = (elsewhere ?? []).filter(({ envelope }) => !outbox.sent.value.has(envelope.id)).map(rowOf)
  const rows = [...here, ...others].sort((a, b) => b.atMs - a.atMs)

  async function load(): Promise<void> {
    const found: Message[] = []
    for await (const message of context.client.export({ pageSize: PAGE_SIZE, signal: context.ended })) {
      if (people.isOwn(message.envelope.from)) found.push(message)
    }
    setElsewhere(found)
  }

  return (
    <div class={`panes ${id === undefined ? '' : 'reading'}`}>
      <section class="pane-list" aria-label={strings.mail.list(strings.pages.sent)}>
        <header class="pane-head">
          <h1>{strings.pages.sent}</h1>
        </header>
        <PendingList />
        {rows.length === 0 ? (
          <Empty title={sent.empty} hint={sent.emptyHint} />
        ) : (
          <VirtualList
            label={strings.pages.sent}
            items={rows}
            keyOf={(row) => row.id}
            rowHeight={ROW_HEIGHT}
            row={(row) => <SentRow row={row} />}
            classOf={() => ''}
            chosen={id}
            onChoose={(row) => goTo('sent', row.id)}
            onEnd={() => undefined}
          />
        )}
        <footer class="pane-foot">
          {elsewhere === undefined && (
            <BusyButton class="quiet small" onPress={() => attempt(load)}>
              {sent.elsewhere}
            </BusyButton>
          )}
        </footer>
      </section>
      <section class="pane-reader">
        {id === undefined ? <Empty title={strings.mail.nothingChosen} /> : <SentPane key={id} id={id} />}
      </section>
    </div>
  )
}

function SentRow({ row: { to, atMs, text } }: { row: Row }): JSX.Element {
  return (
    <>
      <span class="row-head">
        <span class="agent-name">
          <bdi class="name">
            {sent.to(to.startsWith('board:') ? shortId(to.slice('board:'.length)) : (to.split('@')[0] ?? to))}
          </bdi>
        </span>
        <Time seconds={atMs / 1000} />
      </span>
      <span class="row-text">
        <span class="preview">
          {text === undefined ? strings.badges.elsewhere : <ForeignTitle text={text.slice(0, PREVIEW_LENGTH)} />}
        </span>
      </span>
    </>
  )
}

function rowOf({ envelope, created_at }: Message): Row {
  const text = 'body' in envelope ? textOf(envelope.body as never) : undefined
  return { id: envelope.id, to: envelope.to, atMs: created_at * 1000, text }
}
