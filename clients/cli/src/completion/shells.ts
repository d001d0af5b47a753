import type { Candidate } from './candidates.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface Integration {
  /** The script that the user's shell loads. */
  readonly script: string
  /** Formats a line of `svc complete`. */
  line(candidate: Candidate): string
}

/** Each script asks `svc complete` for candidates, so it stays correct when svc is updated. If there are none, it offers files. */
export const INTEGRATIONS: Readonly<Record<Shell, Integration>> = {
  bash: {
    script: `_svc_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(svc complete bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _svc_complete svc
`,
    line: ({ value }) => value,
  },
  zsh: {
    script: `#compdef svc
_svc_complete() {
  local -a found
  found=("\${(@f)$(svc complete zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then _describe svc found; else _files; fi
}
compdef _svc_complete svc
`,
    line: ({ value, description }) => `${value.replaceAll(':', '\\:')}:${description}`,
  },
  fish: {
    script: `function __svc_complete
  set -l words (commandline -opc)
  set -l found (svc complete fish -- $words[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c svc -f -a '(__svc_complete)'
`,
    line: ({ value, description }) => `${value}\t${description}`,
  },
}
