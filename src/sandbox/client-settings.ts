import { statSync } from 'node:fs';
import type { Sandbox } from '../engine/schema/contract.ts';

interface ClientSandbox {
  readonly terms: Sandbox;
  /** Absolute paths of the loop's own files and folders. */
  readonly closed: readonly string[];
  /** Commands that the client runs outside its sandbox, each in a separate call. */
  readonly excluded: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * Returns the part of the client's settings that confines its shell. The client's sandbox holds only Bash, so permission
 * rules deny the same reads and writes to its file tools. Every path is absolute.
 */
export function clientSandbox({ terms, closed, excluded, secrets }: ClientSandbox) {
  const { allowWrite, denyWrite, denyRead, network } = terms;
  return {
    sandbox: {
      enabled: true,
      failIfUnavailable: true,
      autoAllowBashIfSandboxed: true,
      allowUnsandboxedCommands: false,
      excludedCommands: excluded,
      filesystem: { allowWrite, denyWrite, denyRead },
      network: networkOf(network),
      credentials: { envVars: secrets.map((name) => ({ name, mode: 'deny' })) },
    },
    permissions: {
      // The sandbox confines every shell command; without this rule many would still ask for approval.
      allow: ['Bash', ...excluded.map((command) => `Bash(${command})`)],
      deny: [
        ...[...closed, ...denyWrite].flatMap((path) => rules('Edit', path)),
        ...denyRead.flatMap((path) => rules('Read', path)),
      ],
    },
  };
}

/** Returns the network settings. The list alone leaves other domains open under bypassPermissions (measured). */
function networkOf(network: Sandbox['network']) {
  if (network === true) return { allowedDomains: ['*'] };
  if (network === false) return { allowedDomains: [], deniedDomains: ['*'], strictAllowlist: true };
  return { allowedDomains: network, strictAllowlist: true };
}

/** Returns rules for a file, or for a folder and its content; both if the path does not exist yet. */
function rules(tool: string, path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  const [file, below] = [`${tool}(/${path})`, `${tool}(/${path}/**)`];
  return stat === undefined || stat.isDirectory() ? [file, below] : [file];
}
