import { TextField } from "./field.tsx";

/** Tags as text, with the known ones as buttons. */
export function TagField(props: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly known: readonly string[];
  readonly onChange: (text: string) => void;
}) {
  const { label, hint, value, known, onChange } = props;
  const tags = wordsOf(value);
  const toggle = (tag: string) =>
    onChange((tags.includes(tag) ? tags.filter((each) => each !== tag) : [...tags, tag]).join(" "));
  return (
    <div className="flex flex-col gap-1">
      <TextField label={label} hint={hint} value={value} onChange={onChange} />
      <div className="flex flex-wrap gap-1">
        {known.map((tag) => (
          <button
            key={tag}
            type="button"
            aria-pressed={tags.includes(tag)}
            onClick={() => toggle(tag)}
            className="h-6 max-w-full truncate rounded-md border border-line-strong px-1.5 text-xs text-soft hover:bg-raised aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent-deep"
          >
            {tag}
          </button>
        ))}
      </div>
    </div>
  );
}

/** The words of a text, which spaces or commas separate. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}
