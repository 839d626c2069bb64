/** Files that become events: how they are sent, read and imported. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { MIB } from '../../basics/units.ts';
import { answered, api, refusedHere, type Schemas } from './api.ts';
import { rowsOfPage } from './paged.ts';
import { polled } from './polling.ts';

export type Import = Schemas['Import'];
export type Preview = Schemas['ImportPreview'];
export type Reading = Schemas['ImportsStartRequest'];

/** A file is sent in parts of so many bytes: each must come through within a minute. */
const PART_BYTES = 2 * MIB;
/** A part that did not come through is sent again, after so long, so often. */
const RETRY_MS = 1_000;
const ATTEMPTS = 5;

export const isOpen = ({ state }: Import): boolean =>
  state === 'uploading' || state === 'queued' || state === 'running';

export function useImports(project: string, page: number) {
  const query = rowsOfPage(page);
  return useQuery({
    queryKey: ['imports', project, page],
    placeholderData: keepPreviousData,
    refetchInterval: polled<{ readonly results: readonly Import[] }>(({ results }) => results.some(isOpen)),
    queryFn: () =>
      answered(api.GET('/api/projects/{project_id}/imports/', { params: { path: { project_id: project }, query } })),
  });
}

/** Begins an import of a file. Throws the `Refusal` of one without a byte. */
export async function createImport(project: string, { name, size }: File): Promise<Import> {
  if (size === 0) throw refusedHere(`${name} is empty.`);
  return answered(
    api.POST('/api/projects/{project_id}/imports/', {
      params: { path: { project_id: project } },
      body: { name, bytes: size },
    }),
  );
}

const placeOf = (project: string, { id }: Import) => ({ path: { project_id: project, id } });

/**
 * Returns an import as it is now, whose file is to be sent from where its parts end. Throws a `Refusal` where this is not
 * the file that was begun.
 */
export async function importOfRest(project: string, one: Import, file: File): Promise<Import> {
  const { name, bytes } = one;
  if (file.name !== name || file.size !== bytes)
    throw refusedHere(`It is not the file that was begun, which is ${name} and has ${bytes} bytes.`);
  return answered(api.GET('/api/projects/{project_id}/imports/{id}/', { params: placeOf(project, one) }));
}

/** Sends in parts what is not there of a file. `onPart` is told after each how many bytes are. Throws the signal's reason on abort. */
export async function sendFile(
  project: string,
  one: Import,
  file: File,
  { onPart, signal }: { readonly onPart: (uploaded: number) => void; readonly signal: AbortSignal },
): Promise<void> {
  for (let offset = one.bytes_uploaded; offset < file.size; ) {
    signal.throwIfAborted();
    const { bytes_uploaded } = await sendPart(project, one, offset, file.slice(offset, offset + PART_BYTES));
    offset = bytes_uploaded;
    onPart(offset);
  }
}

async function sendPart(project: string, one: Import, offset: number, part: Blob) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await answered(
        api.PUT('/api/projects/{project_id}/imports/{id}/content/', {
          params: { ...placeOf(project, one), query: { offset } },
          body: part as never,
          bodySerializer: (body) => body,
          headers: { 'Content-Type': 'application/octet-stream' },
        }),
      );
    } catch (error) {
      // What `fetch` throws is a TypeError: nobody answered.
      if (!(error instanceof TypeError) || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

export const previewImport = (project: string, one: Import, body: Reading): Promise<Preview> =>
  answered(api.POST('/api/projects/{project_id}/imports/{id}/preview/', { params: placeOf(project, one), body }));

export const startImport = (project: string, one: Import, body: Reading): Promise<Import> =>
  answered(api.POST('/api/projects/{project_id}/imports/{id}/start/', { params: placeOf(project, one), body }));

export const cancelImport = (project: string, one: Import): Promise<Import> =>
  answered(api.POST('/api/projects/{project_id}/imports/{id}/cancel/', { params: placeOf(project, one) }));

/** Removes an import that has ended, with the copy of what it rejected. */
export const deleteImport = (project: string, one: Import): Promise<unknown> =>
  answered(api.DELETE('/api/projects/{project_id}/imports/{id}/', { params: placeOf(project, one) }));

interface Piece {
  readonly text: string;
  /** Where the rest begins; undefined: that is all. */
  readonly next: number | undefined;
}

async function rejectedPiece(project: string, one: Import, offset: number): Promise<Piece> {
  const reply = await api.GET('/api/projects/{project_id}/imports/{id}/rejected/', {
    params: { ...placeOf(project, one), query: { offset } },
    parseAs: 'text',
  });
  const text = await answered(Promise.resolve(reply));
  const next = reply.response.headers.get('X-Next-Offset');
  return { text, next: next === null ? undefined : Number(next) };
}

/** Returns what was rejected of an import, as it was in the file. */
export async function rejectedOf(project: string, one: Import): Promise<Blob> {
  const pieces: string[] = [];
  let next: number | undefined = 0;
  while (next !== undefined) {
    const piece = await rejectedPiece(project, one, next);
    pieces.push(piece.text);
    next = piece.next;
  }
  return new Blob(pieces, { type: 'text/plain' });
}
