import { type ReactNode, useEffect } from "react";

export function PageHeader(props: {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const { title, lead, actions } = props;
  useEffect(() => {
    document.title = `${title} · Tendon`;
  }, [title]);
  return (
    <header className="mb-5 flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="text-xl font-semibold">{title}</h1>
        {lead !== undefined && <p className="mt-0.5 text-soft">{lead}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}
