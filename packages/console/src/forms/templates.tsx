/** Layout of the fields of a form. */
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  FieldTemplateProps,
  ObjectFieldTemplateProps,
} from "@rjsf/utils";
import { useI18n } from "../i18n/i18n.tsx";
import { Button, IconButton } from "../ui/button.tsx";

export function FieldTemplate(props: FieldTemplateProps) {
  const { id, label, required, children, rawErrors, displayLabel, schema, hidden } = props;
  if (hidden === true) return <div className="hidden">{children}</div>;
  if (schema.type === "object" || displayLabel === false) return <div>{children}</div>;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="flex items-baseline gap-1.5 text-sm">
        <span className="font-medium">{label}</span>
        {required === true && <RequiredMark />}
      </label>
      {children}
      {schema.description !== undefined && <p className="text-xs text-soft">{schema.description}</p>}
      {(rawErrors ?? []).map((error) => (
        <p key={error} role="alert" className="text-xs text-bad">
          {error}
        </p>
      ))}
    </div>
  );
}

function RequiredMark() {
  const { t } = useI18n();
  return <span className="text-xs text-soft">{t("form.requiredMark")}</span>;
}

export function ObjectTemplate({ properties, title, fieldPathId }: ObjectFieldTemplateProps) {
  const inner = properties.map(({ name, content }) => <div key={name}>{content}</div>);
  if (fieldPathId.path.length === 0) return <div className="grid gap-4">{inner}</div>;
  return (
    <fieldset className="grid gap-3 border-l-2 border-line pl-3">
      <legend className="mb-1 text-sm font-medium">{title}</legend>
      {inner}
    </fieldset>
  );
}

export function ArrayTemplate({ items, onAddClick, canAdd, disabled }: ArrayFieldTemplateProps) {
  const { t } = useI18n();
  return (
    <div className="flex flex-col gap-2">
      {items}
      {canAdd !== false && (
        <span>
          <Button icon="plus" disabled={disabled === true} onClick={() => onAddClick()}>
            {t("form.add")}
          </Button>
        </span>
      )}
    </div>
  );
}

export function ArrayItemTemplate({ children, buttonsProps, index }: ArrayFieldItemTemplateProps) {
  const { t } = useI18n();
  return (
    <div className="flex items-start gap-2">
      <div className="min-w-0 flex-1">{children}</div>
      <IconButton
        icon="cross"
        label={t("form.remove", { at: index + 1 })}
        onClick={buttonsProps.onRemoveItem}
      />
    </div>
  );
}
