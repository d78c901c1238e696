//! Columns that line up.

use super::Style;

/// Rows under bold headings, two spaces between columns, nothing after the last one.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]], style: Style) -> String {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].as_str()).chain([headings[at]]);
        cells.map(width_of).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = style.bold(&line(headings, widths));
    text.push('\n');
    for row in rows {
        text.push_str(&line(std::array::from_fn(|at| row[at].as_str()), widths));
        text.push('\n');
    }
    text
}

fn line<const N: usize>(cells: [&str; N], widths: [usize; N]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.into_iter().zip(widths) {
        line.push_str(cell);
        line.push_str(&" ".repeat(width.saturating_sub(width_of(cell)) + 2));
    }
    line.truncate(line.trim_end().len());
    line
}

/// How many characters are seen: what [`Style`] adds is not.
fn width_of(cell: &str) -> usize {
    let (first, rest) = cell.split_once('\x1b').unwrap_or((cell, ""));
    let seen = |part: &str| part.split_once('m').map_or(0, |(_, text)| text.chars().count());
    first.chars().count() + if rest.is_empty() { 0 } else { rest.split('\x1b').map(seen).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let rows = [["a".to_owned(), "ü".to_owned()], ["bbb".to_owned(), String::new()]];
        assert_eq!(table(["X", "YY"], &rows, Style::new(false)), "X    YY\na    ü\nbbb\n");
    }

    #[test]
    fn colours_take_no_room() {
        let rows = [[Style::new(true).red("a"), "b".to_owned()]];
        assert_eq!(
            table(["XX", "Y"], &rows, Style::new(true)),
            "\x1b[1mXX  Y\x1b[0m\n\x1b[1;31ma\x1b[0m   b\n"
        );
    }
}
