import { Button, Card, FileButton, Group, Progress, Stack, Text } from '@mantine/core';
import { type DragEvent, useRef, useState } from 'react';
import { Heading } from '../heading.tsx';
import { Problem } from '../problem.tsx';
import { ScopedButton } from '../scoped-button.tsx';
import { Columns, FirstRecords, lackOf } from './first-records.tsx';
import { Imports } from './imports.tsx';
import { useUpload } from './upload.ts';

/** Takes a file, or one that was left before it was imported, shows how it is read, and imports it. Below it are all imports. */
export function ImportDesk({ project }: { readonly project: string }) {
  const upload = useUpload(project);
  const { chosen, preview, error } = upload;
  if (chosen === null) {
    return (
      <Stack>
        <Stack gap={0}>
          <DropPlace take={upload.take} refuse={upload.refuse} />
          <Problem error={error} />
        </Stack>
        <Imports project={project} goOn={upload.goOn} />
      </Stack>
    );
  }
  const { one, uploaded, isSending } = chosen;
  const isWhole = uploaded === one.bytes;
  return (
    <Stack>
      <Card withBorder component="section" aria-label={`Import ${one.name}`}>
        <Stack>
          <Heading style={{ overflowWrap: 'anywhere' }}>{one.name}</Heading>
          {!isWhole && (
            <div>
              <Progress value={(uploaded / one.bytes) * 100} aria-label="Upload" />
              <Text size="sm">
                {sizeText(uploaded)} of {sizeText(one.bytes)} uploaded.{' '}
                {isSending ? 'Keep this page open.' : 'Choose the file again to go on.'}
              </Text>
            </div>
          )}
          {preview !== null && <FirstRecords preview={preview} />}
          {preview?.columns != null && (
            <Columns
              columns={preview.columns}
              reading={upload.reading}
              change={(next) => upload.read(one, next)}
              format={preview.format}
            />
          )}
          <Problem error={error} />
          <Group>
            {!isWhole && !isSending && (
              <ChooseFile label="Choose the file again" take={(file) => upload.takeRest(one, file)} />
            )}
            <ScopedButton
              scope="batch_import:write"
              lacks={preview === null ? undefined : lackOf(preview)}
              loading={upload.isBusy && isWhole}
              disabled={!isWhole}
              onClick={() => upload.start(one)}
            >
              Import
            </ScopedButton>
            <Button variant="default" onClick={() => upload.cancel(one)}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Card>
      <Imports project={project} />
    </Stack>
  );
}

interface ChooseFileProps {
  readonly label: string;
  readonly take: (file: File) => void;
}

/** Asks for a file. */
function ChooseFile({ label, take }: ChooseFileProps) {
  /** Lets the same file be chosen again. */
  const forget = useRef<() => void>(null);
  return (
    <FileButton
      resetRef={forget}
      onChange={(file) => {
        if (file !== null) take(file);
        forget.current?.();
      }}
    >
      {({ onClick }) => (
        <ScopedButton scope="batch_import:write" onClick={onClick}>
          {label}
        </ScopedButton>
      )}
    </FileButton>
  );
}

/** Returns why what is dropped is not taken; undefined: it is a file, or nothing. */
function faultOf({ files, items }: DataTransfer): string | undefined {
  const others = '`npx workspace imports send` takes folders and several files.';
  if (files.length > 1) return `None of the ${files.length} files is taken: drop one at a time. ${others}`;
  const folder = Array.from(items, (item) => item.webkitGetAsEntry()).find((entry) => entry?.isDirectory);
  return folder == null ? undefined : `${folder.name} is a folder. ${others}`;
}

interface DropPlaceProps extends Pick<ChooseFileProps, 'take'> {
  /** Says why nothing is taken. */
  readonly refuse: (why: string) => void;
}

/** Where a file is dropped, or chosen. */
function DropPlace({ take, refuse }: DropPlaceProps) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const fault = faultOf(event.dataTransfer);
    const [file] = event.dataTransfer.files;
    if (fault !== undefined) refuse(fault);
    else if (file !== undefined) take(file);
  };
  return (
    <Card
      withBorder
      component="section"
      aria-label="Drop a file"
      p="xl"
      style={{ borderStyle: 'dashed', ...(isOver ? { borderColor: 'var(--mantine-primary-color-filled)' } : {}) }}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Stack align="center" gap="xs">
        <Text>Drop a file here, or</Text>
        <ChooseFile label="Choose a file" take={take} />
      </Stack>
    </Card>
  );
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Returns a number of bytes as people say it: `52.7 MB`. */
function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  return `${(bytes / 1000 ** power).toLocaleString('en', { maximumFractionDigits: 1 })} ${UNITS[power] ?? 'B'}`;
}
