import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const testApiKey = 'sk-ant-scripted-model';

/**
 * What the interactive client asks for at its first start, answered beforehand (measured on 2.1.330): onboarding and theme, trust of the
 * folder, the API key found in the environment (known by its last 20 characters), and the warning about bypassPermissions, which is a user setting.
 */
export const seedClientConfig = (options: {
  readonly configDir: string;
  readonly trusted: readonly string[];
  readonly apiKey?: string;
}): void => {
  const key = options.apiKey ?? testApiKey;
  mkdirSync(options.configDir, { recursive: true });
  const config = {
    hasCompletedOnboarding: true,
    lastOnboardingVersion: '99.0.0',
    theme: 'dark',
    customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
    projects: Object.fromEntries(
      options.trusted.map((directory) => [
        directory,
        { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
      ]),
    ),
  };
  writeFileSync(join(options.configDir, '.claude.json'), JSON.stringify(config));
  // Nothing on the screen moves while nothing happens: each picture costs the processor time that other tests wait for.
  const settings = { skipDangerousModePermissionPrompt: true, prefersReducedMotion: true };
  writeFileSync(join(options.configDir, 'settings.json'), JSON.stringify(settings));
};
