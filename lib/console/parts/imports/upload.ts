/** The upload of a file that is to be imported: how far it is, how the file is read, and what becomes of it. */
import { useEffect, useRef, useState } from 'react';
import { refusedHere } from '../../client/api.ts';
import {
  cancelImport,
  createImport,
  type Import,
  importOfRest,
  isOpen,
  type Preview,
  previewImport,
  type Reading,
  sendFile,
  startImport,
} from '../../client/imports.ts';
import { useSubmission } from '../form.ts';
import { tell } from '../problem.tsx';
import { useRenew } from '../renew.ts';

/** A file of which something is there. */
interface Chosen {
  readonly one: Import;
  readonly uploaded: number;
  /** It is on its way. */
  readonly isSending: boolean;
}

/** The first records of a file, as it was asked to be read. */
export interface Shown extends Preview {
  readonly as: Reading;
}

/** Takes one file at a time, also the rest of one that was left before it was imported. */
export function useUpload(project: string) {
  const renew = useRenew();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [preview, setPreview] = useState<Shown | null>(null);
  const [reading, setReading] = useState<Reading>({});
  /** How the file is to be read by what was chosen last: an upload that ends meets what was chosen while it went on. */
  const lastReading = useRef<Reading>({});
  /** How often was asked how a file is read. Only the last answer is shown, in whatever order they come. */
  const looks = useRef(0);
  const { isBusy, error, attempt: submit } = useSubmission();
  const upload = useRef<AbortController | null>(null);
  // Whoever leaves the page takes the file along.
  useEffect(() => () => upload.current?.abort(), []);

  const choose = (next: Reading): void => {
    lastReading.current = next;
    setReading(next);
  };
  const reset = (): void => {
    upload.current?.abort();
    looks.current += 1;
    setChosen(null);
    setPreview(null);
    choose({});
  };

  /** Shows how a file is read, unless that was asked again meanwhile, or the file is no longer there. */
  async function look(one: Import): Promise<void> {
    looks.current += 1;
    const own = looks.current;
    const as = lastReading.current;
    try {
      const found = await previewImport(project, one, as);
      if (own === looks.current) setPreview({ ...found, as });
    } catch (problem) {
      if (own === looks.current) throw problem;
    }
  }

  const attempt = async (act: () => Promise<unknown>): Promise<void> => {
    await submit(act);
    void renew('imports');
  };

  /** Uploads, in the place of what is uploaded. */
  const sends = (send: (signal: AbortSignal) => Promise<unknown>): void => {
    upload.current?.abort();
    const stop = new AbortController();
    const { signal } = stop;
    upload.current = stop;
    void attempt(() =>
      send(signal).catch((problem: unknown) => {
        if (signal.aborted) return;
        setChosen((now) => now && { ...now, isSending: false });
        throw problem;
      }),
    );
  };

  const take = (file: File): void =>
    sends(async (signal) => {
      const one = await createImport(project, file);
      // Another file has taken the place of one that had not begun.
      await (signal.aborted ? cancelImport(project, one) : send(one, file, signal));
    });

  const takeRest = (begun: Import, file: File): void =>
    sends(async (signal) => send(await importOfRest(project, begun, file), file, signal));

  async function send(one: Import, file: File, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    setChosen({ one, uploaded: one.bytes_uploaded, isSending: true });
    let isShown = false;
    await sendFile(project, one, file, {
      signal,
      onPart: (uploaded) => {
        if (signal.aborted) return;
        setChosen({ one, uploaded, isSending: true });
        if (!isShown) void submit(() => look(one));
        isShown = true;
      },
    });
    // Parquet is read from its end.
    if (!signal.aborted) await look(one);
  }

  const read = (one: Import, next: Reading): void => {
    choose(next);
    void attempt(() => look(one));
  };

  const goOn = (one: Import): void => {
    setChosen({ one, uploaded: one.bytes_uploaded, isSending: false });
    void attempt(async () => one.bytes_uploaded > 0 && look(one));
  };

  const start = (one: Import): void =>
    void attempt(async () => {
      await startImport(project, one, reading);
      tell(`The import of ${one.name} has begun.`);
      reset();
    });
  const cancel = (one: Import): void =>
    void attempt(async () => {
      upload.current?.abort();
      if (isOpen(one)) await cancelImport(project, one);
      reset();
    });

  return {
    /** Null: no file is there. */
    chosen,
    /** Null: nothing was read yet. */
    preview,
    reading,
    isBusy,
    error,
    take,
    /** Goes on with the upload of a file. */
    takeRest,
    /** Says why nothing is taken. */
    refuse: (why: string): void => void submit(() => Promise.reject(refusedHere(why))),
    /** Takes up what was left, as far as it is there. */
    goOn,
    /** Reads the file in another way. */
    read,
    start,
    cancel,
  };
}
