import { useState } from "react";
import { Icon } from "./icon.tsx";

/** JSON as a tree. The first levels are open; a click opens the others. */
export function JsonView({
  value,
  name,
  depth = 0,
}: {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}) {
  const [open, setOpen] = useState(depth < 2);
  const label = name === undefined ? null : <span className="text-soft">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div className="font-mono text-sm break-words">
        {label}
        <span className={typeof value === "string" ? "text-text" : "text-accent-deep"}>
          {JSON.stringify(value)}
        </span>
      </div>
    );
  }
  const entries = Object.entries(value);
  const brackets = Array.isArray(value) ? "[]" : "{}";
  if (entries.length === 0)
    return (
      <div className="font-mono text-sm">
        {label}
        {brackets}
      </div>
    );
  return (
    <div className="font-mono text-sm">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex items-center gap-1 rounded hover:bg-raised"
      >
        <span className={open ? "rotate-90" : ""}>
          <Icon name="chevron" size={10} />
        </span>
        <span>
          {label}
          <span className="text-soft">
            {brackets[0]}
            {open ? "" : ` ${entries.length} `}
            {open ? "" : brackets[1]}
          </span>
        </span>
      </button>
      {open && (
        <div className="ml-1 border-l border-line pl-3">
          {entries.map(([key, each]) => (
            <JsonView key={key} value={each} name={key} depth={depth + 1} />
          ))}
        </div>
      )}
    </div>
  );
}
