//! Columns that line up.

use super::Style;

/// Rows under bold headings, two spaces between columns, nothing after the last one.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]], style: Style) -> String {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].as_str()).chain([headings[at]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
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
        line.push_str(&format!("{cell:width$}  "));
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let rows = [["a".to_owned(), "ü".to_owned()], ["bbb".to_owned(), String::new()]];
        assert_eq!(table(["X", "YY"], &rows, Style::new(false)), "X    YY\na    ü\nbbb\n");
    }
}
