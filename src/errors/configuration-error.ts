/** What is wrong with what this package was given: the configuration, a ClusterProfile, the name of an image. */

import { printable } from '../util/printable.ts';
import {
  type ConfigurationErrorCode,
  CredentialsError,
  type ImageErrorCode,
  maxFieldBytes,
  type ProfileErrorCode,
} from './credentials-error.ts';

/** One problem in the operator's configuration. */
export interface Problem {
  /** A field path (`providers[1].execConfig.command`), or the flag as it was given. */
  readonly path: string;
  /** What is wrong and what to write instead. */
  readonly message: string;
  /** The file, if several were read together. */
  readonly file?: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
  /** Column in that line, counted from 1. */
  readonly column?: number;
}

/** The configuration cannot be used. Reports every problem, not only the first. */
export class ConfigurationError extends CredentialsError {
  declare readonly name: 'ConfigurationError';
  declare readonly code: ConfigurationErrorCode;
  readonly problems: readonly Problem[];

  /** `where` opens the message: a file's path, or what was being read. */
  constructor(code: ConfigurationErrorCode, where: string, problems: readonly Problem[]) {
    const lines = problems.map(({ path, file, line, message }) => {
      const at = `${file === undefined ? '' : `${file}: `}${line === undefined ? '' : `line ${line}: `}`;
      return `${at}${path === '' ? '' : `${path}: `}${message}`;
    });
    const isOne = lines.length === 1;
    super('ConfigurationError', code, `${where}: ${isOne ? lines[0] : `${lines.length} problems:`}`, {
      moreLines: isOne ? [] : lines.map((line) => `  ${line}`),
    });
    this.problems = problems;
  }
}

/** A ClusterProfile cannot be served with the configured providers. */
export class ProfileError extends CredentialsError {
  declare readonly name: 'ProfileError';
  declare readonly code: ProfileErrorCode;
  declare readonly profile: string;
  /** The field of the ClusterProfile, for example `status.accessProviders[0].cluster.server`. */
  readonly path: string;
  /** The access type, if one was chosen. */
  readonly provider: string | undefined;

  constructor(code: ProfileErrorCode, profile: string, path: string, message: string, provider?: string) {
    super('ProfileError', code, `ClusterProfile ${profile}: ${path === '' ? '' : `${path}: `}${message}`, {
      cluster: { profile: printable(profile, maxFieldBytes) },
    });
    this.path = printable(path, maxFieldBytes);
    this.provider = provider;
  }
}

/** The most of an image's name that a message shows, in bytes: the longest name has 255, with a tag and a digest some 450. */
const longestShownImage = 512;
/** The most that is looked at: anybody may name an image. */
const longestImage = 4_096;

/** The name of an image cannot be used. */
export class ImageError extends CredentialsError {
  declare readonly name: 'ImageError';
  declare readonly code: ImageErrorCode;
  /** The name as given, without the user and password of a URL. */
  readonly image: string;

  constructor(image: string, message: string) {
    const shown = withoutUser(String(image).slice(0, longestImage));
    super('ImageError', 'IMAGE_INVALID', `image "${printable(shown, longestShownImage)}": ${message}`);
    this.image = shown;
  }
}

/** `https://user:password@host` and `user:password@host`; `app:1@sha256:...` has a tag and a digest. */
function withoutUser(image: string): string {
  return image
    .replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1[redacted]@')
    .replace(/^(?!\w+:\/\/)[^/]*:[^/]*@(?![a-z0-9+._-]+:[0-9a-f]+$)/is, '[redacted]@');
}
