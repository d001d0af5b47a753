import { parseAddress } from '@svc/envelope/address.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Field } from '../parts/field.tsx'

const { boards: texts } = strings

/** An unlisted board is found only by its id. */
export function OpenById(): JSX.Element {
  const [id, setId] = useState('')
  const [isChecked, setChecked] = useState(false)
  const wanted = id.trim().replace(/^board:/, '')
  const isBoard = parseAddress(`board:${wanted}`) !== undefined
  return (
    <form
      class="inline-form open-by-id"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setChecked(true)
        if (isBoard) goTo('boards', wanted)
      }}
    >
      <Field
        label={texts.openById}
        value={id}
        onInput={setId}
        problem={isChecked && !isBoard ? texts.idWrong : undefined}
      />
      <button type="submit">{texts.openButton}</button>
    </form>
  )
}
