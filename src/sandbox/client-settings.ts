import { statSync } from 'node:fs';
import type { Sandbox } from '../engine/schema/contract.ts';

interface ClientSandbox {
  readonly terms: Sandbox;
  /** The loop's own files and folders, absolute. */
  readonly closed: readonly string[];
  /** Commands that the client runs outside its sandbox, each alone. */
  readonly excluded: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * Returns the part of the client's settings that confines its shell. The client's sandbox holds Bash alone, so what may
 * not be written or read is denied to its file tools by permission rules as well. Every path is absolute.
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
      // The sandbox confines every shell command; without the rule many would still ask for approval.
      allow: ['Bash', ...excluded.map((command) => `Bash(${command})`)],
      deny: [
        ...[...closed, ...denyWrite].flatMap((path) => rules('Edit', path)),
        ...denyRead.flatMap((path) => rules('Read', path)),
      ],
    },
  };
}

/** The list alone does not close the network: with bypassPermissions every other domain is allowed as well (measured). */
function networkOf(network: Sandbox['network']) {
  if (network === true) return { allowedDomains: ['*'] };
  if (network === false) return { allowedDomains: [], deniedDomains: ['*'], strictAllowlist: true };
  return { allowedDomains: network, strictAllowlist: true };
}

/** Rules for a file, or for a folder and all that is in it; both where nothing is there yet. */
function rules(tool: string, path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  const [file, below] = [`${tool}(/${path})`, `${tool}(/${path}/**)`];
  return stat === undefined || stat.isDirectory() ? [file, below] : [file];
}
