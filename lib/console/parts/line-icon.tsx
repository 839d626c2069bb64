interface LineIconProps {
  /** Its lines, in a square of 16. */
  readonly path: string;
}

/** A picture of lines, in the colour and size of the text that it stands in the place of. */
export const LineIcon = ({ path }: LineIconProps) => (
  <svg viewBox="0 0 16 16" width="1rem" height="1rem" fill="none" stroke="currentColor" strokeWidth={1.2} aria-hidden>
    <path d={path} />
  </svg>
);
