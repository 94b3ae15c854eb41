-- Example of a user's VHDL design that contains the decoder. Counts the errors in a stream of bytes.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.utf8_decoder_component.all;

entity error_counter is
  port (
    clk, rst   : in  std_logic;
    data       : in  std_logic_vector(7 downto 0);
    data_valid : in  std_logic;
    data_ready : out std_logic;
    errors     : out std_logic_vector(7 downto 0)
  );
end entity;

architecture rtl of error_counter is
  signal user  : std_logic_vector(7 downto 0);
  signal valid : std_logic;
  signal count : unsigned(7 downto 0);
begin
  decoder : utf8_decoder port map (
    clk           => clk,
    rst           => rst,
    s_axis_tdata  => data,
    s_axis_tvalid => data_valid,
    s_axis_tready => data_ready,
    s_axis_tlast  => '0',
    m_axis_tdata  => open,
    m_axis_tvalid => valid,
    m_axis_tready => '1',
    m_axis_tlast  => open,
    m_axis_tuser  => user
  );

  process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        count <= (others => '0');
      elsif valid = '1' and user(0) = '1' then
        count <= count + 1;
      end if;
    end if;
  end process;

  errors <= std_logic_vector(count);
end architecture;
