/**
 * `node test/deploy/config-problems.ts <[service, environment][]>`, in JSON, prints the errors that each service's
 * `readConfig` throws for its environment. It is a separate process for the reason in variables.ts.
 */
const environments = JSON.parse(process.argv[2] ?? '[]') as [string, NodeJS.ProcessEnv][]
const problems: string[] = []
for (const [service, env] of environments) {
  const { readConfig } = await import(new URL(`../../services/${service}/src/config.ts`, import.meta.url).href)
  try {
    readConfig(env)
  } catch (error) {
    problems.push(`${service}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
console.log(JSON.stringify(problems))
