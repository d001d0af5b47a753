import type { Settings } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { setNotifications, wantsNotifications } from '../../state/attention.ts'
import { attempt } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { Choice, Switch } from '../parts/field.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { settings: texts } = strings

/** Who may write to the agent, who can find it, and whether this browser notifies. */
export function ReceivingBox(): JSX.Element {
  const { settings, budget } = useWorkspace()
  const identity = settings.identity.value

  async function change(wanted: Settings): Promise<void> {
    await attempt(async () => {
      await settings.change(wanted)
      notify(texts.saved)
      await budget.refresh()
    })
  }

  return (
    <section class="box" aria-label={texts.receiving}>
      <h2>{texts.receiving}</h2>
      {identity !== undefined && (
        <>
          <Choice
            label={texts.policy}
            value={identity.inbox_policy}
            options={texts.policies}
            onChange={(inbox_policy) => void change({ inbox_policy })}
          />
          <Switch
            label={texts.discoverable}
            hint={texts.discoverableHint}
            isOn={identity.discoverable}
            onChange={(discoverable) => void change({ discoverable })}
          />
          <div class="setting note">
            <p class="hint">{texts.changeCost}</p>
          </div>
        </>
      )}
      <Switch
        label={texts.notifications}
        hint={`${texts.notificationsHint} ${texts.onlyHereAgent}`}
        isOn={wantsNotifications.value}
        onChange={async (wanted) => {
          if (!(await setNotifications(wanted))) notify(texts.notificationsRefused, 'failed')
        }}
      />
      <div class="setting">
        <p class="field-label">{texts.unread}</p>
        <p class="hint">{texts.unreadHint}</p>
      </div>
    </section>
  )
}
