/** Settings that decide how git sees a working tree, as they were when the loop began. */
export interface GitPins {
  readonly top: string;
  readonly objects: string;
  /** Index file of the repository: the initial copy for the loop's own index, so that unchanged files are not read again. */
  readonly index: string;
  readonly head: string;
  readonly config: string;
  /** Contents of files of the git folder, by their path in it. */
  readonly texts: Readonly<Record<string, string>>;
  readonly hooks: string;
}

/** A loop's own look at its repository: git with the settings of the start, and an index that only the loop writes. */
export interface GitView {
  /** Git folder. */
  readonly folder: string;
  readonly pins: GitPins;
  /** Returns the index that is believed; null if it has to be read again. */
  readonly index: () => ViewIndex | null;
  readonly keepIndex: (index: ViewIndex) => void;
}

export interface ViewIndex {
  /** Commit from which it was read; null for a copy of the repository's index, which includes staged changes. */
  readonly commit: string | null;
  readonly sha256: string;
}

/** What is stored of a view: everything except the folder that git needs, which is made from it. */
export interface ViewRecord {
  /** Name of the folder: a new one is complete before the record names it, so that no kill leaves half a view. */
  readonly folder: string;
  readonly pins: GitPins;
  readonly index: ViewIndex | null;
}
