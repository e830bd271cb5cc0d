import { rememberAgreed, riskySetting } from '../../src/drive/start/terms/agreed-settings.ts';

/** Remembers that the user of `env` agreed to these settings of a task file of the project, as at a terminal. */
export function agreeTo(projectDir: string, env: NodeJS.ProcessEnv, settings: Readonly<Record<string, unknown>>): void {
  const agreed = Object.entries(settings).map(([key, value]) => riskySetting(projectDir, 'frontmatter', key, value));
  rememberAgreed(env, agreed);
}
